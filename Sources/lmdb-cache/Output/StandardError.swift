import Foundation

/// The destination of messages and the progress bar.
enum StandardError {
  /// Writes a message on a separate line. Names and keys in it are untrusted.
  static func tell(_ message: String) { write("lmdb-cache: \(Formatting.message(message))\n") }

  static func write(_ text: String) {
    // A failure cannot be reported anywhere.
    do { try FileHandle.standardError.write(contentsOf: Data(text.utf8)) } catch {}
  }
}
