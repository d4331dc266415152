import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A loopback connection over sockets, which can also send malformed requests.
final class RawConnection {
  private let descriptor: Int32
  #if canImport(Glibc)
    private static let kind = Int32(SOCK_STREAM.rawValue), flags = Int32(MSG_NOSIGNAL)
  #else
    private static let kind = SOCK_STREAM, flags: Int32 = 0
  #endif

  init(port: UInt16, address host: UInt32 = 0x7F00_0001) throws {
    descriptor = socket(AF_INET, Self.kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    // A silent server fails the test instead of blocking it.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Sends everything that the server takes.
  func write(_ data: Data) {
    var rest = data[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.flags) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads some bytes; empty after the end of the stream or a minute of silence.
  func read() -> Data {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return Data(buffer.prefix(max(0, count)))
  }

  func readToEnd() -> Data {
    var data = Data()
    while true {
      let more = read()
      if more.isEmpty { return data }
      data += more
    }
  }

  func exchange(_ data: Data) throws -> RawResponse {
    write(data)
    return RawResponse(readToEnd())
  }
}

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
