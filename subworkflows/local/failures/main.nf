// Failures of several tables or parameters in one message.

// How a run goes on where some of its samples failed.
def withoutFailed(more = '') {
    return "\nTo go on with the other samples, start again with --failed_samples skip${more}"
}

// One message of all failures.
def failure(reasons, what) {
    return reasons.size() == 1 ? reasons[0] : "${reasons.size()} ${what}:\n${reasons.collect { reason -> "- ${reason}" }.join('\n')}"
}
