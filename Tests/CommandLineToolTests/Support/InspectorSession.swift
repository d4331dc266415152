import Foundation
import TestSupport
import Testing

/// A running `serve`, and requests to it. Ends when released.
final class InspectorSession {
  let process: ChildProcess
  /// Ends with a slash.
  let address: String
  let port: UInt16
  let token: String

  init(cache: String, isWritable: Bool = false) throws {
    process = try ChildProcess(
      Tool.executable, ["serve", "--cache", cache] + (isWritable ? ["--writable"] : []))
    address = try #require(process.readLine())
    let parts = address.split(separator: "/")
    port = try #require(UInt16(parts[1].split(separator: ":")[1]))
    token = String(parts[2])
  }

  var host: String { "127.0.0.1:\(port)" }

  func send(_ bytes: String) throws -> RawResponse { try RawConnection(port: port).exchange(Data(bytes.utf8)) }

  /// A connection that has asked for the events.
  func subscribed() throws -> RawConnection {
    let connection = try RawConnection(port: port)
    connection.write(Data((head("GET", "api/events") + "\r\n").utf8))
    return connection
  }

  /// - Parameter path: Relative to the page's address.
  func get(_ path: String = "") throws -> RawResponse { try send(head("GET", path) + "\r\n") }

  func head(_ method: String, _ path: String, _ headers: [String] = []) -> String {
    (["\(method) /\(token)/\(path) HTTP/1.1", "Host: \(host)"] + headers).map { $0 + "\r\n" }.joined()
  }

  func json<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
    let response = try get(path)
    #expect(response.status == 200, "\(path): \(response.text)")
    return try response.json()
  }

  func post(
    _ path: String, _ body: String, type: String = "application/json", origin: String? = "http://H"
  ) throws -> RawResponse {
    let headers =
      ["Content-Type: \(type)", "Content-Length: \(body.utf8.count)"]
      + (origin.map { ["Origin: \($0.replacing("H", with: host))"] } ?? [])
    return try send(head("POST", path, headers) + "\r\n" + body)
  }

  static func escaped(_ key: String) -> String {
    key.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
  }
}
