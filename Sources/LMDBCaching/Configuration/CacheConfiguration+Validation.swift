extension CacheConfiguration {
  /// Refuses values outside their documented ranges.
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
      Set(identifiers).count == identifiers.count, "The identifiers of valueTransforms differ; \(identifiers) do not.")
    for transform in valueTransforms where !(transform is any PackagedTransform) {
      try require(
        transform.identifier >= 128,
        "The identifier of a transform of your own is 128 … 255; that of \(type(of: transform)) is "
          + "\(transform.identifier).")
    }
    for (name, limit) in [
      ("memory.countLimit", memory.countLimit), ("memory.costLimit", memory.costLimit),
      ("disk.countLimit", disk.countLimit), ("disk.costLimit", disk.costLimit),
      ("disk.freeSpaceLimit", disk.freeSpaceLimit),
    ] {
      try require(limit >= 0, "\(name) is not negative; \(limit) is. Without a limit it is Int.max.")
    }
    for (name, limit) in [("memory.ageLimit", memory.ageLimit), ("disk.ageLimit", disk.ageLimit)] {
      try require(limit ?? .zero >= .zero, "\(name) is not negative. Without a limit it is nil.")
    }
  }
}
