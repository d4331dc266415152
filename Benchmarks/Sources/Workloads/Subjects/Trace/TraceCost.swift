/// The cost of a trace's object: 1 to 512, each power of two equally often.
enum TraceCost {
  static func of(_ key: UInt32) -> Int {
    var random = SplitMix(state: UInt64(key))
    return 1 << Int(random.next() % 10)
  }
}
