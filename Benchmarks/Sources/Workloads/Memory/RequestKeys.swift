/// The keys that threads request, made before the timing.
struct RequestKeys {
  /// For every thread, the key's number for each request.
  let numbers: [[Int]]
  private let strings: [[String]]

  init(threads: Int, count: Int, draw: (_ thread: Int, _ request: Int, inout SplitMix) -> Int) {
    numbers = (0..<threads).map { thread in
      var random = SplitMix(state: UInt64(thread + 1))
      return (0..<count).map { draw(thread, $0, &random) }
    }
    strings = numbers.map { $0.map { BareDictionary.key(Self.text($0)) } }
  }

  static func text(_ number: Int) -> String { "user:profile:\(number)" }

  /// Requests per thread.
  var count: Int { numbers[0].count }

  func keys<S: MemorySubject>(for subject: S.Type) -> [[S.Key]] {
    if let strings = strings as? [[S.Key]] { return strings }
    return numbers.map { $0.map { S.key(Self.text($0)) } }
  }
}
