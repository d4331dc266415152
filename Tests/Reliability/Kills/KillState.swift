/// The result of one writer's operations: the last value of every key it touched, or nil if removed.
struct KillState: Equatable {
  var last: [String: KillValue?] = [:]
  var clears = 0

  init(_ load: KillLoad, count: Int) {
    for number in 0..<count {
      KillOperation(number: number, load).apply(to: &self, KillValue(writer: load.writer, number: number))
    }
  }

  func own(_ writer: Int) -> [String: KillValue] {
    let prefix = KillOperation.ownPrefix(writer)
    return last.compactMapValues { $0 }.filter { $0.key.hasPrefix(prefix) }
  }
}
