import groovy.lang.GroovyClassLoader;
import groovy.lang.GroovyCodeSource;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Classes of compiled scripts: one file per script, named by its text and the jars that compiled it. */
public class KeptScripts {
    private static final Path FOLDER = Path.of(System.getProperty("KeptScripts"));
    /** Of the script that this thread compiles: name → bytes; Groovy compiles one at a time. */
    private static final ThreadLocal<Map<String, byte[]>> COMPILED = new ThreadLocal<>();

    private KeptScripts() {
    }

    /** A class that has just been made. */
    static void compiled(String name, byte[] bytes) {
        if (COMPILED.get() != null) {
            COMPILED.get().put(name.replace('/', '.'), bytes.clone());
        }
    }

    /** The class of a script that is kept; null for others, which are compiled then. */
    public static Class<?> find(Object loader, Object source) {
        Path kept = place((GroovyCodeSource) source);
        if (kept == null) {
            return null;
        }
        if (!Files.exists(kept)) {
            COMPILED.set(new LinkedHashMap<>());
            return null;
        }
        GroovyClassLoader own = new GroovyClassLoader.InnerLoader((GroovyClassLoader) loader); // as the compiler's
        Class<?> script = null;
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(kept)))) {
            String name = in.readUTF();
            for (int left = in.readInt(); left > 0; left--) {
                Class<?> made = own.defineClass(in.readUTF(), in.readNBytes(in.readInt()));
                script = made.getName().equals(name) ? made : script;
            }
        }
        catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return script;
    }

    /** Writes the classes of a script, if it is one that was not kept. */
    public static void keep(Class<?> script, Object source) {
        Path kept = place((GroovyCodeSource) source);
        Map<String, byte[]> classes = COMPILED.get();
        if (kept == null || classes == null) {
            return;
        }
        COMPILED.remove();
        try {
            Path partial = Files.createTempFile(FOLDER, "partial", null);
            try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(partial)))) {
                out.writeUTF(script.getName());
                out.writeInt(classes.size());
                for (Map.Entry<String, byte[]> one : classes.entrySet()) {
                    out.writeUTF(one.getKey());
                    out.writeInt(one.getValue().length);
                    out.write(one.getValue());
                }
            }
            Files.move(partial, kept, StandardCopyOption.ATOMIC_MOVE);
        }
        catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Null for what is no script of a pipeline, such as a configuration, whose classes depend on more than its text. */
    private static Path place(GroovyCodeSource source) {
        if (source.getScriptText() == null || !source.getName().startsWith("Script_")) {
            return null;
        }
        String parts = String.join("\0", System.getProperty("java.class.path"), source.getName(), source.getScriptText());
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(parts.getBytes(StandardCharsets.UTF_8));
            return FOLDER.resolve(String.format("%064x", new BigInteger(1, digest)));
        }
        catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
