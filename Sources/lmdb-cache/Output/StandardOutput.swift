import Foundation

/// The destination of data only.
enum StandardOutput {
  static func write(_ data: Data) throws(ToolError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      throw ToolError(.inputOutput, "cannot write to standard output: \(Platform.reason(of: error).text)")
    }
  }

  static func write(_ text: String) throws(ToolError) { try write(Data(text.utf8)) }

  /// Whether it is a pipe, socket or terminal without a reader.
  static var isClosed: Bool { Platform.isHungUp(FileHandle.standardOutput.fileDescriptor) }
}
