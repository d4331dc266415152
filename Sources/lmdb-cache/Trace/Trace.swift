import Foundation

/// The requests of a trace: for each the number of its key, and the keys by number.
///
/// Numbering the keys once keeps the making of strings out of what is measured.
struct Trace: Sendable {
  /// In the order of their first requests.
  private(set) var keys: [String] = []
  private(set) var requests: [UInt32] = []

  init(contentsOf path: String, _ format: TraceFormat) throws(ToolError) {
    let contents = try InputFile.contents(of: path, unpacking: true)
    let name = path == "-" ? "standard input" : path
    switch format {
    case .u32be: try self.init(u32be: contents, name: name)
    case .text: try self.init(text: contents, name: name)
    }
  }

  init(u32be contents: Data, name: String) throws(ToolError) {
    guard contents.count % 4 == 0 else {
      throw ToolError(
        .dataError,
        "\(name) is truncated: a request is 4 bytes, and its \(Formatting.grouped(contents.count)) bytes end in the "
          + "middle of one")
    }
    requests.reserveCapacity(contents.count / 4)
    var numbers: [UInt32: UInt32] = [:]
    contents.withUnsafeBytes { bytes in
      for offset in stride(from: 0, to: bytes.count, by: 4) {
        let key = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        if let number = numbers[key] {
          requests.append(number)
        } else {
          numbers[key] = add(String(key))
        }
      }
    }
    try requireRequests(name)
  }

  init(text contents: Data, name: String) throws(ToolError) {
    // By bytes: as strings, keys that differ only in normalization would be one.
    var numbers: [Data: UInt32] = [:]
    var lines = contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // What follows the last newline is a line only if there is something.
    if lines.last?.isEmpty == true { lines.removeLast() }
    for (index, line) in lines.enumerated() {
      if let number = numbers[line] {
        requests.append(number)
      } else if let key = String(validating: line, as: UTF8.self) {
        numbers[line] = add(key)
      } else {
        throw ToolError(.dataError, "line \(Formatting.grouped(index + 1)) of \(name) is not UTF-8")
      }
    }
    try requireRequests(name)
  }

  /// Appends the first request of a key.
  private mutating func add(_ key: String) -> UInt32 {
    let number = UInt32(keys.count)
    keys.append(key)
    requests.append(number)
    return number
  }

  private func requireRequests(_ name: String) throws(ToolError) {
    if requests.isEmpty { throw ToolError(.dataError, "\(name) holds no requests") }
  }
}
