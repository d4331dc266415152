import Foundation

/// A host's address for system calls.
struct SocketAddress {
  let family: Int32
  private let bytes: [UInt8]

  /// A host's addresses. Blocks as long as the system's lookup takes.
  static func find(_ host: String, _ port: Int) throws(RemoteTierError) -> [SocketAddress] {
    var hints = addrinfo()
    #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
    #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else {
      throw RemoteTierError(.unreachable, "Looking up \(host): \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = list
    while let info = next?.pointee {
      if let address = info.ai_addr {
        found.append(
          SocketAddress(
            family: info.ai_family,
            bytes: Array(UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))))
      }
      next = info.ai_next
    }
    return found
  }

  func withBytes<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      // Array storage has the alignment of any allocation.
      body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
