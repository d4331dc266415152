import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Forwards a loopback port to the Unix socket that a path names at the time. Can drop replies.
package final class ServerProxy: Sendable {
  private final class Connection: Sendable {
    let client: Int32
    let server: Int32
    let losesReplies = Guarded(false)

    init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

    deinit {
      for descriptor in [client, server] { _ = close(descriptor) }
    }

    func end() {
      for descriptor in [client, server] { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    func pass(from source: Int32, to target: Int32, isReply: Bool) {
      defer { end() }
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = recv(source, &chunk, chunk.count, 0)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        if isReply, losesReplies.current { continue }
        var bytes = chunk[..<count]
        while !bytes.isEmpty {
          let sent = bytes.withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
          if sent <= 0 { return }
          bytes = bytes.dropFirst(sent)
        }
      }
    }
  }

  private struct Weak: Sendable { weak var connection: Connection? }

  package let port: Int
  private let listener: Int32
  private let connections = Guarded<[Weak]>([])

  package init(to path: String) throws {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    guard status else { throw POSIXError(.EADDRNOTAVAIL) }
    listener = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(descriptor, nil, nil)
        if client < 0, errno == EINTR { continue }
        guard client >= 0, let self else { return }
        guard let server = Self.connect(to: path) else {
          _ = Self.close(client)
          continue
        }
        let connection = Connection(client, server)
        connections { connections in
          connections.removeAll { $0.connection == nil }
          connections.append(Weak(connection: connection))
        }
        Thread.detachNewThread { connection.pass(from: client, to: server, isReply: false) }
        Thread.detachNewThread { connection.pass(from: server, to: client, isReply: true) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    _ = Self.close(listener)
    for weak in connections.current { weak.connection?.end() }
  }

  private static func close(_ descriptor: Int32) -> Int32 {
    #if canImport(Glibc)
      Glibc.close(descriptor)
    #else
      Darwin.close(descriptor)
    #endif
  }

  private static func connect(to path: String) -> Int32? {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        #if canImport(Glibc)
          return Glibc.connect(descriptor, address, size)
        #else
          return Darwin.connect(descriptor, address, size)
        #endif
      }
    }
    if status == 0 { return descriptor }
    _ = close(descriptor)
    return nil
  }

  /// Drops the replies on all present connections, then closes them after the given time.
  package func loseReplies(for microseconds: UInt32) {
    let lost = connections.current.compactMap(\.connection)
    for connection in lost { connection.losesReplies { $0 = true } }
    usleep(microseconds)
    for connection in lost { connection.end() }
  }
}
