// Nextflow compiles all scripts of a pipeline at each start: most of what it does before the first task. With this
// patch Groovy keeps the classes of a script in a file, named by the SHA-256 of the script's text and of the jars.
// The folder is the property airrvec.scripts; without it, and wherever a file is not as it was, Groovy compiles.
package airrvec

import groovy.transform.CompileStatic
import groovyjarjarasm.asm.ClassReader
import groovyjarjarasm.asm.ClassVisitor
import groovyjarjarasm.asm.ClassWriter
import groovyjarjarasm.asm.Label
import groovyjarjarasm.asm.MethodVisitor
import org.codehaus.groovy.ast.ClassNode

import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption
import java.nio.file.attribute.FileTime
import java.security.MessageDigest

import static groovyjarjarasm.asm.Opcodes.*

/** What GroovyClassLoader asks before it compiles a script, and is told afterwards. */
@CompileStatic
class KeptScripts {

    private static final String FOLDER = System.getProperty('airrvec.scripts')
    private static final int SEAL = 32 // bytes of the SHA-256 at the end of a file
    private static final long DAY = 86_400_000L
    /** Of the script that this thread compiles: its classes by name, in the order in which they are made. */
    private static final ThreadLocal<Map<String, byte[]>> COMPILED = new ThreadLocal<>()

    /** The class of a script that is kept; null for others, which are compiled then. */
    static Class find(GroovyClassLoader loader, GroovyCodeSource source) {
        COMPILED.remove()
        final file = place(loader, source)
        if (file == null) return null
        final input = contents(file)
        if (input == null) {
            COMPILED.set(new LinkedHashMap<>())
            return null
        }
        final name = input.readUTF()
        Class script = null
        try {
            for (int left = input.readInt(); left > 0; left--) {
                final made = loader.defineClass(input.readUTF(), input.readNBytes(input.readInt()))
                if (made.name == name) script = made
            }
        }
        catch (LinkageError ignored) { // this loader has the script already: the compiler uses one of its own
            return null
        }
        return script
    }

    /** A class of a script, which has just been made. */
    static void compiled(ClassNode node, byte[] bytes) {
        COMPILED.get()?.put(node.name, bytes)
    }

    /** Writes the classes of a script, if it is one that was not kept. */
    static void keep(Class script, GroovyClassLoader loader, GroovyCodeSource source) {
        final classes = COMPILED.get()
        if (classes == null) return
        COMPILED.remove()
        final buffer = new ByteArrayOutputStream()
        final output = new DataOutputStream(buffer)
        output.writeUTF(script.name)
        output.writeInt(classes.size())
        classes.each { name, bytes ->
            output.writeUTF(name)
            output.writeInt(bytes.length)
            output.write(bytes)
        }
        final written = buffer.toByteArray()
        output.write(sha256(written))
        try {
            final file = place(loader, source)
            Files.createDirectories(file.parent)
            final partial = file.resolveSibling("${file.fileName}.${UUID.randomUUID()}")
            Files.write(partial, buffer.toByteArray())
            Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE)
        }
        catch (IOException ignored) { // the next start compiles it again
        }
    }

    /** What the file of a script holds; null without a whole file. The launcher deletes files that were not used for long. */
    private static DataInputStream contents(Path file) {
        byte[] bytes
        try {
            bytes = Files.readAllBytes(file)
        }
        catch (IOException ignored) {
            return null
        }
        final size = Math.max(0, bytes.length - SEAL)
        if (!Arrays.equals(sha256(Arrays.copyOf(bytes, size)), Arrays.copyOfRange(bytes, size, bytes.length))) return null
        used(file)
        return new DataInputStream(new ByteArrayInputStream(bytes, 0, size))
    }

    private static void used(Path file) {
        final now = System.currentTimeMillis()
        try {
            if (Files.getLastModifiedTime(file).toMillis() < now - DAY) Files.setLastModifiedTime(file, FileTime.fromMillis(now))
        }
        catch (IOException ignored) { // it is another user's
        }
    }

    /**
     * The file of a script. Null for what is no script of a pipeline, such as a configuration, and for pipelines with
     * classes of their own (lib): those depend on more than their text.
     */
    private static Path place(GroovyClassLoader loader, GroovyCodeSource source) {
        if (!FOLDER || !source.scriptText || !source.name.startsWith('Script_')) return null
        for (ClassLoader each = loader; each instanceof GroovyClassLoader; each = each.parent) {
            if (((GroovyClassLoader) each).getURLs().length) return null
        }
        final parts = [System.getProperty('java.class.path'), source.name, source.scriptText].join('\0')
        return Path.of(FOLDER, "${sha256(parts.getBytes('UTF-8')).encodeHex()}.classes")
    }

    private static byte[] sha256(byte[] bytes) { MessageDigest.getInstance('SHA-256').digest(bytes) }
}

/** Writes Groovy's two classes that call KeptScripts into a folder, which stands before the jars. */
@CompileStatic
class Patch {

    static void main(String[] args) {
        write(args[0], 'groovy/lang/GroovyClassLoader', 'doParseClass') { MethodVisitor method -> new Parser(method) }
        write(args[0], 'groovy/lang/GroovyClassLoader$ClassCollector', 'createClass') { MethodVisitor method -> new Collector(method) }
    }

    private static void write(String folder, String type, String changed, Closure<MethodVisitor> change) {
        final writer = new ClassWriter(ClassWriter.COMPUTE_MAXS)
        final visitor = new ClassVisitor(ASM9, writer) {
            @Override
            MethodVisitor visitMethod(int access, String name, String kind, String signature, String[] thrown) {
                final method = super.visitMethod(access, name, kind, signature, thrown)
                return name == changed ? change(method) : method
            }
        }
        ClassLoader.getSystemResourceAsStream("${type}.class").withCloseable { original -> new ClassReader(original).accept(visitor, 0) }
        final file = Path.of(folder, "${type}.class")
        Files.createDirectories(file.parent)
        Files.write(file, writer.toByteArray())
    }
}

/** doParseClass(source): <code>kept = KeptScripts.find(this, source); if (kept != null) return kept; …; keep(…)</code>. */
@CompileStatic
class Parser extends MethodVisitor {

    Parser(MethodVisitor method) { super(ASM9, method) }

    @Override
    void visitCode() {
        super.visitCode()
        final compile = new Label()
        visitVarInsn(ALOAD, 0)
        visitVarInsn(ALOAD, 1)
        visitMethodInsn(INVOKESTATIC, 'airrvec/KeptScripts', 'find', '(Lgroovy/lang/GroovyClassLoader;Lgroovy/lang/GroovyCodeSource;)Ljava/lang/Class;', false)
        visitInsn(DUP)
        visitJumpInsn(IFNULL, compile)
        super.visitInsn(ARETURN)
        visitLabel(compile)
        visitFrame(F_SAME1, 0, null, 1, ['java/lang/Class'] as Object[])
        visitInsn(POP)
    }

    @Override
    void visitInsn(int code) {
        if (code == ARETURN) {
            visitInsn(DUP)
            visitVarInsn(ALOAD, 0)
            visitVarInsn(ALOAD, 1)
            visitMethodInsn(INVOKESTATIC, 'airrvec/KeptScripts', 'keep', '(Ljava/lang/Class;Lgroovy/lang/GroovyClassLoader;Lgroovy/lang/GroovyCodeSource;)V', false)
        }
        super.visitInsn(code)
    }
}

/** createClass(bytes, node): <code>KeptScripts.compiled(node, bytes)</code> first. */
@CompileStatic
class Collector extends MethodVisitor {

    Collector(MethodVisitor method) { super(ASM9, method) }

    @Override
    void visitCode() {
        super.visitCode()
        visitVarInsn(ALOAD, 2)
        visitVarInsn(ALOAD, 1)
        visitMethodInsn(INVOKESTATIC, 'airrvec/KeptScripts', 'compiled', '(Lorg/codehaus/groovy/ast/ClassNode;[B)V', false)
    }
}
