import Foundation

/// A file, or standard input, read forwards; no more of it is in memory than what is asked for.
final class ExchangeInput {
  /// For messages.
  let name: String
  private let handle: FileHandle
  private var buffer: [UInt8] = []
  /// Where in the buffer that begins which was not taken.
  private var start = 0
  private var isAtEnd = false
  /// Bytes that were taken.
  private(set) var offset = 0

  private static let partSize = 1 << 18

  /// - Parameter path: `-` is standard input.
  init(path: String) throws(ToolError) {
    if path == "-" {
      (handle, name) = (.standardInput, "standard input")
      return
    }
    name = path
    do {
      handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    } catch {
      let reason = Platform.reason(of: error)
      throw ToolError(reason.isPermissionDenied ? .noPermission : .noInput, "cannot open \(path): \(reason.text)")
    }
  }

  /// How many bytes are at hand.
  var count: Int { buffer.count - start }

  /// Whether so many bytes are at hand, or can be had.
  func has(_ count: Int) throws(ToolError) -> Bool {
    while self.count < count, !isAtEnd { try readPart() }
    return self.count >= count
  }

  /// Calls `body` with what is at hand.
  func withBytes<R>(_ body: (RawSpan) throws -> R) throws -> R {
    // A span of a property cannot be cut down: the compiler takes the part for one that leaves its scope.
    try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start...]).bytes) }
  }

  /// A byte that is at hand.
  subscript(index: Int) -> UInt8 { buffer[start + index] }

  /// Moves behind so many bytes that are at hand.
  func drop(_ count: Int) {
    start += count
    offset += count
    // Not with each of many small ones.
    guard start >= Self.partSize else { return }
    buffer.removeSubrange(..<start)
    start = 0
  }

  /// The bytes up to a line feed, which is taken and not among them, or up to the end, and whether a line feed ended
  /// them; `nil` at the end.
  ///
  /// - Throws: for a line that is longer than `limit` and what is read at once.
  func line(limit: Int) throws -> (bytes: [UInt8], isEnded: Bool)? {
    var length = 0
    while true {
      if let end = buffer[(start + length)...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[start..<end])
        drop(line.count + 1)
        return (line, true)
      }
      length = count
      if length > limit { throw ExchangeProblem("it is longer than \(Formatting.grouped(limit)) bytes") }
      if isAtEnd {
        if length == 0 { return nil }
        let line = Array(buffer[start...])
        drop(length)
        return (line, false)
      }
      try readPart()
    }
  }

  private func readPart() throws(ToolError) {
    let part: Data?
    do {
      part = try handle.read(upToCount: Self.partSize)
    } catch {
      throw ToolError(.inputOutput, "cannot read \(name): \(Platform.reason(of: error).text)")
    }
    guard let part, !part.isEmpty else {
      isAtEnd = true
      return
    }
    buffer.append(contentsOf: part)
  }
}
