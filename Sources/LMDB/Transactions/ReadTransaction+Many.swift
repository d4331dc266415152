extension ReadTransaction {
  /// How many keys are looked for together: enough that memory is always being waited for, and few enough that what was
  /// fetched is still there when its turn comes.
  package static var togetherLimit: Int { 32 }

  /// Looks up to 32 keys of the main database up: while memory is fetched for one of them the others go on.
  ///
  /// - Parameters:
  ///   - keys: As ``withValue(forKey:in:_:)`` takes them.
  ///   - found: Becomes the value of each key, valid until the transaction ends, or `nil`. As long as `keys`.
  package func find(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer>,
    _ found: UnsafeMutableBufferPointer<UnsafeRawBufferPointer?>
  ) throws(LMDBError) {
    precondition(keys.count <= Self.togetherLimit && found.count == keys.count)
    guard let tree else {
      for index in keys.indices { found[index] = try findByLMDB(keys[index], in: .main) }
      return
    }
    var unknown: [Int] = []
    withUnsafeTemporaryAllocation(of: TreeSearches.Member.self, capacity: keys.count) { members in
      TreeSearches(tree, keys, members).run()
      for index in keys.indices {
        switch members[index].found {
        case .value(let value): found[index] = value
        case .absent: found[index] = nil
        case .unknown: unknown.append(index)
        }
      }
    }
    for index in unknown { found[index] = try findByLMDB(keys[index], in: .main) }
  }
}
