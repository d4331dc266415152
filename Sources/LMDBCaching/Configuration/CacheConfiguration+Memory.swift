extension CacheConfiguration {
  /// The limits of the memory tier. ``MemoryTier`` changes them while the cache is open.
  public struct Memory: Sendable, Equatable {
    /// The maximum number of entries: a million by default, `Int.max` for no limit.
    public var countLimit: Int = 1_000_000
    /// The maximum total cost: 256 MiB by default. An entry's default cost is the size of its archive, without the
    /// overhead. Of a million values set with the defaults, those of 10 bytes take 190 MB of memory; of those of 1,000
    /// bytes, 265,000 stay and take 480 MB.
    public var costLimit: Int = 256 << 20
    /// How long after its last access an entry stays; `nil` for no limit.
    public var ageLimit: Duration?

    public init() {}

    /// The defaults, without the limits of count and cost.
    public static var unlimited: Memory {
      var memory = Memory()
      memory.countLimit = .max
      memory.costLimit = .max
      return memory
    }
  }
}
