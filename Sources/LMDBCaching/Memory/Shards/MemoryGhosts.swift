/// The recently evicted keys of a shard. Owned memory: `deallocate()` frees it.
@frozen @usableFromInline
struct MemoryGhosts {
  /// For the small queue: up to nine tenths of the entries.
  @usableFromInline var small = MemoryGhost()
  /// For the main queue: up to a tenth of the entries.
  @usableFromInline var main = MemoryGhost()

  @inlinable
  init() {}

  /// How a key was evicted that is stored again.
  @frozen @usableFromInline enum Recollection {
    case none
    /// Somewhat more room in the small queue would have kept it.
    case lateInSmall
    /// More room would not have kept it.
    case early
    /// Somewhat more room in the main queue would have kept it.
    case lateInMain
  }

  @inlinable
  static func smallWindow(_ count: Int) -> Int { max(16, count &- count / 10) }

  @inlinable
  static func mainWindow(_ count: Int) -> Int { max(4, count / 10) }

  /// Returns how a key was evicted, and forgets it. `count` is the number of entries in the shard.
  @inlinable
  mutating func recall(_ tag: UInt32, count: Int) -> Recollection {
    if let age = small.take(tag, window: Self.smallWindow(count)) {
      return age <= Self.mainWindow(count) ? .lateInSmall : .early
    }
    if main.take(tag, window: Self.mainWindow(count)) != nil { return .lateInMain }
    return .none
  }

  @inlinable
  mutating func insert(_ tag: UInt32, isMain: Bool, count: Int) {
    if isMain {
      main.insert(tag, window: Self.mainWindow(count))
    } else {
      small.insert(tag, window: Self.smallWindow(count))
    }
  }

  @inlinable
  func deallocate() {
    small.deallocate()
    main.deallocate()
  }
}
