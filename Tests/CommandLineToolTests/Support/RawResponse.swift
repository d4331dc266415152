import Foundation
import Testing

struct RawResponse {
  /// 0 if nothing came.
  var status = 0
  /// Keyed by lowercase name.
  var headers: [String: String] = [:]
  var body = Data()

  init(_ data: Data) {
    guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return }
    let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    body = Data(data[end.upperBound...])
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  func json<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: body)
  }
}
