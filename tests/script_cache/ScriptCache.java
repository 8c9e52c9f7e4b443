import groovyjarjarasm.asm.ClassReader;
import groovyjarjarasm.asm.ClassVisitor;
import groovyjarjarasm.asm.ClassWriter;
import groovyjarjarasm.asm.Label;
import groovyjarjarasm.asm.MethodVisitor;
import groovyjarjarasm.asm.Opcodes;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * Agent of Java for the tests: Groovy asks {@link KeptScripts} before it compiles a script, and hands it the result.
 *
 * Compiling the pipeline's scripts is half of the processor time of a start of Nextflow. This class names no class of
 * Groovy: loaded before the agent is in place, GroovyClassLoader would stay as it is.
 */
public class ScriptCache implements ClassFileTransformer {
    private static final String KEPT = "KeptScripts";

    /** @param folder of the classes that are kept */
    public static void premain(String folder, Instrumentation instrumentation) {
        System.setProperty(KEPT, folder);
        instrumentation.addTransformer(new ScriptCache());
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        if ("groovy/lang/GroovyClassLoader".equals(name)) {
            ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            new ClassReader(bytes).accept(new OfLoader(writer), 0);
            return writer.toByteArray();
        }
        if (name != null && name.startsWith("Script_")) {
            KeptScripts.compiled(name, bytes);
        }
        return null; // as it is
    }

    /** GroovyClassLoader, whose doParseClass(source) compiles. */
    private static class OfLoader extends ClassVisitor {
        OfLoader(ClassWriter writer) {
            super(Opcodes.ASM9, writer);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
            MethodVisitor method = super.visitMethod(access, name, type, signature, thrown);
            return name.equals("doParseClass") ? new OfParser(method) : method;
        }
    }

    private static class OfParser extends MethodVisitor {
        OfParser(MethodVisitor method) {
            super(Opcodes.ASM9, method);
        }

        /** <code>Class kept = KeptScripts.find(this, source); if (kept != null) return kept;</code> */
        @Override
        public void visitCode() {
            super.visitCode();
            Label compile = new Label();
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitVarInsn(Opcodes.ALOAD, 1);
            String type = "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Class;";
            super.visitMethodInsn(Opcodes.INVOKESTATIC, KEPT, "find", type, false);
            super.visitInsn(Opcodes.DUP);
            super.visitJumpInsn(Opcodes.IFNULL, compile);
            super.visitInsn(Opcodes.ARETURN);
            super.visitLabel(compile);
            super.visitFrame(Opcodes.F_SAME1, 0, null, 1, new Object[] {"java/lang/Class"});
            super.visitInsn(Opcodes.POP);
        }

        /** <code>KeptScripts.keep(made, source); return made;</code> */
        @Override
        public void visitInsn(int code) {
            if (code == Opcodes.ARETURN) {
                super.visitInsn(Opcodes.DUP);
                super.visitVarInsn(Opcodes.ALOAD, 1);
                String type = "(Ljava/lang/Class;Ljava/lang/Object;)V";
                super.visitMethodInsn(Opcodes.INVOKESTATIC, KEPT, "keep", type, false);
            }
            super.visitInsn(code);
        }
    }
}
