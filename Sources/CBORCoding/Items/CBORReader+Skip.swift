extension CBORReader {
  /// Skips one item and its contents, which must be well-formed, in linear time and without recursion.
  ///
  /// - Throws: `.tooDeep` over ``maximumDepth``, `.invalidUTF8`, or an error for a malformed item. Does not detect
  ///   duplicate keys.
  mutating func skip() throws(CBORError) {
    // Items left in each enclosing array, map and tag; the innermost is in `left`.
    var outer: [Int] = []
    var left = 1
    while true {
      var isComplete = left == 0
      if left < 0 { isComplete = try readBreak(endingContainer: left) }
      if isComplete {
        guard let enclosing = outer.popLast() else { return }
        left = enclosing
        continue
      }
      let start = offset
      let head = try readHead()
      left = left > 0 ? left - 1 : Self.afterItem(left)
      switch head.major {
      case .unsigned, .negative: break
      case .simple:
        if head.isBreak { throw CBORError(.unexpectedBreak, at: start) }
      case .bytes, .text:
        rewind(to: start)
        try skipString(head.major)
      case .array, .map, .tag:
        guard outer.count < maximumDepth else { throw CBORError(.tooDeep, at: start) }
        outer.append(left)
        left = try items(in: head, start)
      }
    }
  }

  /// Three negative numbers mark containers of indefinite length.
  private static let indefiniteArray = -1
  private static let indefiniteMapBeforeKey = -2
  private static let indefiniteMapBeforeValue = -3

  private static func afterItem(_ left: Int) -> Int {
    switch left {
    case indefiniteMapBeforeKey: indefiniteMapBeforeValue
    case indefiniteMapBeforeValue: indefiniteMapBeforeKey
    default: left
    }
  }

  private mutating func readBreak(endingContainer left: Int) throws(CBORError) -> Bool {
    let start = offset
    guard try readBreak() else { return false }
    guard left != Self.indefiniteMapBeforeValue else { throw CBORError(.unexpectedBreak, at: start) }
    return true
  }

  private func items(in head: CBORHead, _ start: Int) throws(CBORError) -> Int {
    if head.major == .tag { return 1 }
    let isMap = head.major == .map
    if head.isIndefinite { return isMap ? Self.indefiniteMapBeforeKey : Self.indefiniteArray }
    guard head.argument <= UInt64(isMap ? remaining / 2 : remaining) else {
      throw CBORError(.lengthOverInput, at: start)
    }
    return Int(head.argument) * (isMap ? 2 : 1)
  }

  /// Skips a byte or text string of either form.
  mutating func skipString(_ major: CBORMajorType) throws(CBORError) {
    let start = offset
    guard major == .text else { return try readChunks(.bytes) { _ in } }
    try readChunks(.text) { (chunk) throws(CBORError) in
      guard Self.isUTF8(chunk) else { throw CBORError(.invalidUTF8, at: start) }
    }
  }
}
