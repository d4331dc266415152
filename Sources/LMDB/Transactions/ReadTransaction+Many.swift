extension ReadTransaction {
  /// How many keys are looked up together: enough to keep memory busy, few enough that prefetched lines are still
  /// cached.
  package static var togetherLimit: Int { 32 }

  /// Looks up at most 32 keys of the main database, interleaving them to hide memory latency.
  ///
  /// - Parameters:
  ///   - keys: Keys as for ``withValue(forKey:in:_:)``.
  ///   - found: Set to each key's value, valid until the transaction ends, or `nil`. As long as `keys`.
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
