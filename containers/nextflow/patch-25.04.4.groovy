// nf-lang 25.04.0 hands `nextflow lint` 25.04.4 a null list of errors (or of warnings) for a file that has none,
// and lint stops there with a null pointer error. This class takes the place of nf-lang's and hands over empty lists.
package nextflow.script.control

import groovy.transform.CompileStatic
import org.codehaus.groovy.control.CompilerConfiguration
import org.codehaus.groovy.control.ErrorCollector
import org.codehaus.groovy.control.messages.Message
import org.codehaus.groovy.control.messages.WarningMessage

@CompileStatic
class LazyErrorCollector extends ErrorCollector {

    LazyErrorCollector(CompilerConfiguration configuration) { super(configuration) }

    @Override
    List<? extends Message> getErrors() { super.getErrors() ?: [] }

    @Override
    List<WarningMessage> getWarnings() { super.getWarnings() ?: [] }

    // as in nf-lang: go on after the first error, to report them all
    @Override
    protected void failIfErrors() {}
}
