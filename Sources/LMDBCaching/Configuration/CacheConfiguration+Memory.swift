extension CacheConfiguration {
  /// The limits of the memory tier. ``MemoryTier`` changes them while the cache is open.
  public struct Memory: Sendable, Equatable {
    /// How many entries it holds at most.
    public var countLimit: Int = .max
    /// The greatest total cost. The default cost of an entry is its size in bytes.
    public var costLimit: Int = .max
    /// How long after its last access an entry stays; `nil` for no limit.
    public var ageLimit: Duration?

    public init() {}
  }
}
