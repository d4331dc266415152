import ArgumentParser
import Foundation
import Platform

/// A trace: the keys, and each request's key number. Numbering keeps the creation of strings out of the measurements.
struct Trace: Sendable {
  /// In order of first request.
  private(set) var keys: [String] = []
  private(set) var requests: [UInt32] = []

  init(contentsOf path: String, _ format: TraceFormat) throws(ToolError) {
    let before = Platform.bytesRead() ?? 0
    let contents = try Progress.during(of: InputFile.size(of: path, unpacking: true)) {
      Platform.bytesRead().map { $0 - before }
    } _: { () throws(ToolError) in
      try InputFile.contents(of: path, unpacking: true)
    }
    let name = path == "-" ? "standard input" : path
    let progress = Progress(total: contents.count)
    defer { progress.end() }
    switch format {
    case .u32be: try self.init(u32be: contents, name: name, progress)
    case .text: try self.init(text: contents, name: name, progress)
    }
  }

  init(u32be contents: Data, name: String, _ progress: Progress) throws(ToolError) {
    guard contents.count % 4 == 0 else {
      throw ToolError(
        .dataError,
        "\(name) is truncated: a request is 4 bytes, and its \(Formatting.grouped(contents.count)) bytes end in the "
          + "middle of one")
    }
    requests.reserveCapacity(contents.count / 4)
    var numbers: [UInt32: UInt32] = [:]
    let bytes = contents.bytes
    for offset in stride(from: 0, to: bytes.byteCount, by: 4) {
      progress.show(offset)
      let key = UInt32(bigEndian: bytes.load(at: offset, as: UInt32.self))
      if let number = numbers[key] {
        requests.append(number)
      } else {
        numbers[key] = add(String(key))
      }
    }
    try requireRequests(name)
  }

  init(text contents: Data, name: String, _ progress: Progress) throws(ToolError) {
    // By bytes: as strings, keys that differ only in normalization would be equal.
    var numbers: [Data: UInt32] = [:]
    var lines = contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // Text after the last newline is a line only if it is not empty.
    if lines.last?.isEmpty == true { lines.removeLast() }
    for (index, line) in lines.enumerated() {
      progress.show(line.startIndex - contents.startIndex)
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

enum TraceFormat: String, ExpressibleByArgument, CaseIterable {
  /// A four-byte big-endian key per request, as in the cache2k project's traces.
  case u32be
  /// A line with the key per request.
  case text
}
