extension FaultInjection {
  /// A test's rules and observations.
  struct Session {
    var scope: Scope
    var thread: UInt
    var rules: [Rule]
    var calls: [Call: Int] = [:]
    var triggered = 0
    var handles: Set<UInt> = []

    func applies(_ thread: UInt, _ path: String?) -> Bool {
      switch scope {
      case .everywhere: true
      case .currentThread: self.thread == thread
      case .directory(let directory): path == directory || path?.hasPrefix(directory + "/") == true
      }
    }

    mutating func fault(_ call: Call) -> Int32? {
      let number = calls[call, default: 0] + 1
      calls[call] = number
      for rule in rules where rule.call == call {
        if number >= rule.first && number - rule.first < rule.count {
          triggered += 1
          return rule.status
        }
      }
      return nil
    }
  }
}
