import Foundation

/// Standard output, or a file that gets its name when it is whole: one that is there stays until then, and what could
/// not be written to its end leaves nothing.
final class ExchangeOutput {
  private let handle: FileHandle
  private let name: String
  /// Of a file that has no name of its own yet.
  private let temporaryPath: String?
  private let path: String?
  private var buffer = Data()

  private static let partSize = 1 << 16

  /// - Parameter path: `nil` or `-`: standard output.
  init(path: String?) throws(ToolError) {
    guard let path, path != "-" else {
      (handle, name, temporaryPath, self.path) = (.standardOutput, "standard output", nil, nil)
      return
    }
    name = path
    // What is no file has no other name to get: a FIFO, say.
    if Platform.isFile(path) ?? true {
      // Not the link gets what is written, but what it leads to.
      let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      let (descriptor, temporary) = try Platform.makeTemporaryFile(beside: path)
      handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      (temporaryPath, self.path) = (temporary, path)
    } else {
      (temporaryPath, self.path) = (nil, nil)
      do {
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      } catch {
        throw ToolError(.cannotCreate, "cannot write to \(path): \(Platform.reason(of: error).text)")
      }
    }
  }

  func write(_ data: Data) throws(ToolError) {
    buffer.append(data)
    if buffer.count >= Self.partSize { try flush() }
  }

  private func flush() throws(ToolError) {
    try writing { try handle.write(contentsOf: buffer) }
    buffer.removeAll(keepingCapacity: true)
  }

  private func writing(_ body: () throws -> Void) throws(ToolError) {
    do {
      try body()
    } catch {
      throw ToolError(.inputOutput, "cannot write to \(name): \(Platform.reason(of: error).text)")
    }
  }

  /// Writes the rest, and gives the file its name.
  func finish() throws(ToolError) {
    try flush()
    guard let temporaryPath, let path else { return }
    try writing { try handle.synchronize() }
    try Platform.rename(temporaryPath, to: path)
  }

  /// Removes what was written of a file.
  func abandon() {
    // A failure is reported already.
    if let temporaryPath { _ = Platform.remove(temporaryPath) }
  }
}
