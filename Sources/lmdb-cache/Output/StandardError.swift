import Foundation

/// Where messages and the progress bar go.
enum StandardError {
  static func write(_ text: String) {
    // There is nowhere to report that this failed.
    do { try FileHandle.standardError.write(contentsOf: Data(text.utf8)) } catch {}
  }
}
