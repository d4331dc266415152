import Platform

/// The limits of the disk tier.
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

  /// Whether the tier exceeds a limit by a tenth, so that it is trimmed at once.
  func isFarExceeded(by metadata: CacheMetadata) -> Bool {
    metadata.count > count.addingClamped(count / 10) || metadata.totalCost > cost.addingClamped(cost / 10)
  }
}
