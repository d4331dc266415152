import Foundation

/// Where data goes, and nothing else.
enum StandardOutput {
  static func write(_ data: Data) throws(ToolError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      throw ToolError(.inputOutput, "cannot write to standard output: \(Platform.reason(of: error).text)")
    }
  }

  static func write(_ text: String) throws(ToolError) { try write(Data(text.utf8)) }

  /// Whether it is a pipe, a socket or a terminal, and nobody reads from it any more.
  static var isClosed: Bool { Platform.isHungUp(FileHandle.standardOutput.fileDescriptor) }
}
