import Platform
import Synchronization

extension DiskStore {
  /// Checks that an open store suits another opener, and switches it to the files that are in the directory now.
  ///
  /// - Throws: `.durabilityMismatch`, `.configurationMismatch`.
  func share(_ asked: CacheConfiguration) throws(CacheError) {
    guard asked.durability == durability else {
      throw StoreOpening.durabilityMismatch(place.directory, durability, asked.durability)
    }
    let differences = differences(asked)
    guard differences.isEmpty else {
      throw CacheError(
        .configurationMismatch,
        "\(directory) is open in this process already, and has there "
          + differences.map { "\($0.name) \($0.present), where \($0.asked) was asked for" }.joined(separator: "; ")
          + ". Open it with the same settings, use the cache that is open, or close that one first. Limits can be changed "
          + "while it is open: diskCache.countLimit and its siblings.")
    }
    if try place.displacement().isEmpty { return }
    try writer.run { [place] in outcome { () throws(CacheError) in try place.bringFilesIntoPlace() } }
  }

  private struct Difference {
    let name: String
    let present: String
    let asked: String
  }

  /// The settings that the openers disagree on. Settings for opening the files no longer matter.
  private func differences(_ configuration: CacheConfiguration) -> [Difference] {
    var differences: [Difference] = []
    let limits = trimmer.limits.withLock { $0 }
    func compare<V: Equatable>(_ name: String, _ setting: KeyPath<CacheConfiguration.Disk, V>, now present: V? = nil) {
      let (asked, opened) = (configuration.disk[keyPath: setting], settings[keyPath: setting])
      if asked == opened || asked == present { return }
      differences.append(Difference(name: "disk." + name, present: text(present ?? opened), asked: text(asked)))
    }
    compare("countLimit", \.countLimit, now: limits.count)
    compare("costLimit", \.costLimit, now: limits.cost)
    compare("ageLimit", \.ageLimit, now: limits.age)
    compare("freeSpaceLimit", \.freeSpaceLimit, now: limits.freeDiskSpace)
    compare("inlineThreshold", \.inlineThreshold)
    compare("valueSegmentSize", \.valueSegmentSize)
    compare("groupCommitInterval", \.groupCommitInterval)
    compare("journalSize", \.journalSize)
    compare("mapSize", \.mapSize)
    compare("lockTimeout", \.lockTimeout)
    if !configuration.clock.isSame(as: clock) {
      differences.append(Difference(name: "clock", present: "of its opening", asked: "another one"))
    }
    return differences
  }

  private func text(_ setting: some Equatable) -> String {
    if let time = setting as? Duration? { return time.map { "\($0)" } ?? "none" }
    return "\(setting)"
  }
}
