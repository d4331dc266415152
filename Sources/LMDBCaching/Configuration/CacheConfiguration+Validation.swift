extension CacheConfiguration {
  /// Refuses what is out of its documented range. Everything in range works, at its ends too.
  func validate() throws(CacheError) {
    func require(_ condition: Bool, _ message: String) throws(CacheError) {
      if !condition { throw CacheError(.invalidArgument, message) }
    }
    let day = Duration.seconds(86_400)
    try require(1...1 << 30 ~= disk.inlineThreshold, "disk.inlineThreshold is 1 byte … 1 GiB.")
    try require(1 << 16...1 << 30 ~= disk.journalSize, "disk.journalSize is 64 KiB … 1 GiB.")
    try require(
      disk.mapSize >= 1 << 20 && UInt64(disk.mapSize) <= 1 << 47, "disk.mapSize is 1 MiB … 128 TiB.")
    try require(.zero...day ~= disk.groupCommitInterval, "disk.groupCommitInterval is 0 … 24 hours.")
    try require(
      disk.lockTimeout > .zero && disk.lockTimeout <= day, "disk.lockTimeout is more than 0 and at most 24 hours.")
    try require(loadWaitLimit > .zero && loadWaitLimit <= day, "loadWaitLimit is more than 0 and at most 24 hours.")
    try loadOptions.validate()
    let identifiers = valueTransforms.map(\.identifier)
    try require(
      Set(identifiers).count == identifiers.count && !identifiers.contains(0) && identifiers.count < 256,
      "The identifiers of valueTransforms differ, and none is 0.")
    try require(
      [memory.countLimit, memory.costLimit, disk.countLimit, disk.costLimit, disk.freeSpaceLimit].allSatisfy { $0 >= 0 }
        && [memory.ageLimit, disk.ageLimit].allSatisfy { $0 ?? .zero >= .zero }, "A limit is not negative.")
  }
}
