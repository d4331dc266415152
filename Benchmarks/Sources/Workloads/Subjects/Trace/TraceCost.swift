/// What an object of a trace costs, where costs differ: 1 to 512, each power of two as often.
enum TraceCost {
  static func of(_ key: UInt32) -> Int {
    var random = SplitMix(state: UInt64(key))
    return 1 << Int(random.next() % 10)
  }
}
