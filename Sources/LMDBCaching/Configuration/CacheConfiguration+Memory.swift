extension CacheConfiguration {
  /// The limits of the memory tier. ``MemoryTier`` changes them while the cache is open.
  public struct Memory: Sendable, Equatable {
    /// How many entries it holds at most: a million by default, and without a limit `Int.max`.
    public var countLimit: Int = 1_000_000
    /// The greatest total cost: 256 MiB by default. The default cost of an entry is the size of its archive, without what
    /// keeps and finds it: of a million values set, with the defaults, those of 10 bytes take 190 MB of memory, those of
    /// 1,000 bytes, of which 265,000 stay, 480 MB.
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
