import Foundation

/// Serves a limited number of connections from this machine, each on a separate thread.
///
/// Every user of the machine may connect. A connection that is not admitted lasts seconds at most and is dropped when
/// there are too many, so strangers cannot block others.
// @unchecked: variables are guarded by `lock`.
final class HTTPServer: @unchecked Sendable {
  let port: UInt16
  private let descriptor: Int32
  private let lock = NSCondition()
  /// In order of arrival, with their admission.
  private var connections: [(descriptor: Int32, isAdmitted: Bool)] = []

  private static let greatestConnections = 64

  /// - Parameter port: 0 for a free one.
  init(port: UInt16) throws(ToolError) {
    (descriptor, self.port) = try LoopbackSocket.listen(port: port)
  }

  deinit { LoopbackSocket.end(descriptor) }

  /// Serves connections until the process ends.
  ///
  /// - Parameters:
  ///   - admit: Throws to refuse a request, before its body is read.
  ///   - answer: Called on the connections' threads, concurrently.
  func start(
    admit: @escaping @Sendable (HTTPRequest) throws(HTTPRefusal) -> Void,
    answer: @escaping @Sendable (HTTPRequest, HTTPConnection) throws(HTTPRefusal) -> HTTPAnswer
  ) {
    Self.onThread { [self] in
      while true {
        guard let descriptor = LoopbackSocket.accept(descriptor, within: 60_000) else { continue }
        makeRoom(for: descriptor)
        Self.onThread { [self] in
          let connection = HTTPConnection(descriptor)
          do throws(SocketEnd) {
            try serve(connection, admit, answer)
            connection.drain()
          } catch {
            // The peer has gone.
          }
          end(descriptor)
        }
      }
    }
  }

  private static func onThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    // Values may nest.
    thread.stackSize = 4 << 20
    thread.start()
  }

  private func serve(
    _ connection: HTTPConnection, _ admit: (HTTPRequest) throws(HTTPRefusal) -> Void,
    _ answer: (HTTPRequest, HTTPConnection) throws(HTTPRefusal) -> HTTPAnswer
  ) throws(SocketEnd) {
    let answered: HTTPAnswer
    var isHead = false
    do throws(HTTPRefusal) {
      guard var request = try connection.readHead() else { return }
      isHead = request.method == "HEAD"
      try admit(request)
      keep(connection.descriptor)
      request.body = try connection.readBody(of: request)
      answered = try answer(request, connection)
    } catch {
      answered = .response(HTTPResponse(error))
    }
    switch answered {
    case .response(let response): try connection.send(response, withoutBody: isHead)
    case .stream(let response, let write):
      try connection.write(response.head(length: nil))
      if !isHead { try write(connection) }
    }
  }

  // MARK: Connections

  /// Waits for a place, dropping the oldest connection that is not admitted.
  private func makeRoom(for descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    while connections.count >= Self.greatestConnections {
      if let index = connections.firstIndex(where: { !$0.isAdmitted }) {
        LoopbackSocket.interrupt(connections[index].descriptor)
      }
      _ = lock.wait(until: Date(timeIntervalSinceNow: 0.1))
    }
    connections.append((descriptor, isAdmitted: false))
  }

  private func keep(_ descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    if let index = connections.firstIndex(where: { $0.descriptor == descriptor }) {
      connections[index].isAdmitted = true
    }
  }

  /// Under the lock, so that a reused descriptor of another connection is not interrupted.
  private func end(_ descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    connections.removeAll { $0.descriptor == descriptor }
    LoopbackSocket.end(descriptor)
    lock.signal()
  }
}
