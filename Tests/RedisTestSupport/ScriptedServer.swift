import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A server on a Unix socket with scripted replies and delays.
package final class ScriptedServer: Sendable {
  package enum Step: Sendable {
    case send(String)
    /// In milliseconds.
    case wait(Int)
    case close
  }

  package let path: String
  private let listener: Int32
  private let accepted = Guarded(0)
  private let answer: @Sendable (_ command: [String], _ connection: Int) -> [Step]

  /// - Parameter answer: Called for each command of each connection, on the connection's thread.
  package init(_ answer: @escaping @Sendable (_ command: [String], _ connection: Int) -> [Step]) throws {
    self.answer = answer
    let path = "/tmp/s-\(UUID().uuidString.prefix(8))"
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0, listen(descriptor, 64) == 0 else { throw POSIXError(.EIO) }
    self.path = path
    listener = descriptor
    Thread.detachNewThread { [weak self] in
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0, let self else { return }
        let number = accepted {
          $0 += 1; return $0
        }
        Thread.detachNewThread { [answer] in Self.serve(connection, number, answer) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    unlink(path)
  }

  package var connections: Int { accepted.current }

  private static func serve(
    _ connection: Int32, _ number: Int, _ answer: @Sendable ([String], Int) -> [Step]
  ) {
    defer { close(connection) }
    var received: [UInt8] = []
    while true {
      while let command = takeCommand(&received) {
        for step in answer(command, number) {
          switch step {
          case .send(let text):
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
              // Treat a closed connection like a client that stops reading.
              let count = bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
              if count <= 0 { return }
              bytes = bytes.dropFirst(count)
            }
          case .wait(let milliseconds): usleep(UInt32(milliseconds * 1_000))
          case .close: return
          }
        }
      }
      var chunk = [UInt8](repeating: 0, count: 4_096)
      let count = recv(connection, &chunk, chunk.count, 0)
      if count <= 0 { return }
      received += chunk.prefix(count)
    }
  }

  private static func takeCommand(_ received: inout [UInt8]) -> [String]? {
    var rest = received[...]
    func number(_ prefix: Character) -> Int? {
      guard let end = rest.firstIndex(of: 10), rest.first == prefix.asciiValue else { return nil }
      defer { rest = rest[(end + 1)...] }
      return Int(String(decoding: rest[(rest.startIndex + 1)..<(end - 1)], as: UTF8.self))
    }
    guard let count = number("*") else { return nil }
    var words: [String] = []
    for _ in 0..<count {
      guard let length = number("$"), rest.count >= length + 2 else { return nil }
      words.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length + 2)
    }
    received = Array(rest)
    return words
  }
}
