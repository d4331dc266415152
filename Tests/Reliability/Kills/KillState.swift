/// What one writer's operations leave: of every key it touched, the value of its last set, or nil for a removal.
struct KillState: Equatable {
  var last: [String: KillValue?] = [:]
  var clears = 0

  /// After the operations `0 ..< count`.
  init(_ load: KillLoad, count: Int) {
    for number in 0..<count {
      KillOperation(number: number, load).apply(to: &self, KillValue(writer: load.writer, number: number))
    }
  }

  /// The own keys that have a value.
  func own(_ writer: Int) -> [String: KillValue] {
    let prefix = KillOperation.ownPrefix(writer)
    return last.compactMapValues { $0 }.filter { $0.key.hasPrefix(prefix) }
  }
}
