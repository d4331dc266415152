import Synchronization

/// Which load waits for which: a circle of them would wait for ever.
enum WaitGraph {
  enum Outlook {
    /// Nothing is known that would keep the load from ending.
    case open
    /// The load waits for this caller, if all tasks that were started in loads are waited for by them.
    case possibleCircle
    /// The load waits for this caller.
    case circle
  }

  private struct Edge {
    let target: ObjectIdentifier
    /// Whether the waiting load cannot end before the other one; else a task that was started in it waits, and whether
    /// the load waits for that task is not known.
    let isCertain: Bool
  }

  private static let edges = Mutex<[ObjectIdentifier: [Edge]]>([:])

  /// Runs `body`, in which the caller waits for `load` or runs it, unless that would close a circle: then `body` must not
  /// wait.
  static func waiting<R>(for load: Load, _ body: (Outlook) throws -> R) rethrows -> R {
    guard let waiter = Load.current else { return try body(.open) }
    let outlook = begin(waiter, load)
    defer { if outlook != .circle { end(waiter, load) } }
    return try body(outlook)
  }

  /// The same in a task.
  nonisolated(nonsending) static func waiting<R>(
    for load: Load, _ body: nonisolated(nonsending) (Outlook) async throws -> R
  ) async rethrows -> R {
    guard let waiter = Load.current else { return try await body(.open) }
    let outlook = begin(waiter, load)
    defer { if outlook != .circle { end(waiter, load) } }
    return try await body(outlook)
  }

  private static func begin(_ waiter: Load, _ load: Load) -> Outlook {
    let isCertain = waiter.isRunningHere
    let (from, to) = (ObjectIdentifier(waiter), ObjectIdentifier(load))
    return edges.withLock { edges in
      let outlook: Outlook =
        if isCertain && leads(from: to, to: from, edges, certainly: true) {
          .circle
        } else if leads(from: to, to: from, edges, certainly: false) {
          .possibleCircle
        } else {
          .open
        }
      if outlook != .circle { edges[from, default: []].append(Edge(target: to, isCertain: isCertain)) }
      return outlook
    }
  }

  private static func end(_ waiter: Load, _ load: Load) {
    let (from, to) = (ObjectIdentifier(waiter), ObjectIdentifier(load))
    edges.withLock { edges in
      guard let index = edges[from]?.firstIndex(where: { $0.target == to }) else { return }
      edges[from]!.remove(at: index)
      if edges[from]!.isEmpty { edges[from] = nil }
    }
  }

  private static func leads(
    from start: ObjectIdentifier, to end: ObjectIdentifier, _ edges: [ObjectIdentifier: [Edge]], certainly: Bool
  ) -> Bool {
    var found: Set = [start]
    var open = [start]
    while let load = open.popLast() {
      if load == end { return true }
      for edge in edges[load] ?? [] where edge.isCertain || !certainly {
        if found.insert(edge.target).inserted { open.append(edge.target) }
      }
    }
    return false
  }
}
