import Foundation

/// Where messages and the progress bar go.
enum StandardError {
  /// A message of the tool, on a line of its own. The names and keys in it are anybody's.
  static func tell(_ message: String) { write("lmdb-cache: \(Formatting.message(message))\n") }

  /// Text as it is.
  static func write(_ text: String) {
    // There is nowhere to report that this failed.
    do { try FileHandle.standardError.write(contentsOf: Data(text.utf8)) } catch {}
  }
}
