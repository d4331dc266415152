import Platform

/// What the disk tier keeps within. Trims work on a copy.
struct DiskLimits: Sendable {
  var count: Int
  var cost: Int
  var age: Duration?
  var freeDiskSpace: Int

  init(_ configuration: CacheConfiguration) {
    count = configuration.disk.countLimit
    cost = configuration.disk.costLimit
    age = configuration.disk.ageLimit
    freeDiskSpace = configuration.disk.freeSpaceLimit
  }

  /// Whether the tier is so far over a limit that it is trimmed at once and not at the next interval: a tenth.
  func isFarExceeded(by metadata: CacheMetadata) -> Bool {
    metadata.count > count.addingClamped(count / 10) || metadata.totalCost > cost.addingClamped(cost / 10)
  }
}
