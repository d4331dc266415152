import Synchronization

/// The descriptors of this process that hold a lock by flock(2), or may.
///
/// Such a lock belongs to everybody who has the descriptor, and goes with the last of them: a forked child would keep
/// what its parent locked when that dies. So the child gives up its copies as soon as it is there.
enum ForkedLocks {
  /// Places for descriptors. Blocks are never freed, since the fork handler may read them at any time.
  private struct Block: ~Copyable {
    static let count = 256

    /// Descriptors plus one; 0 is a free place.
    let places: UnsafeMutablePointer<Atomic<Int32>>
    let next = Atomic<UnsafeMutablePointer<Block>?>(nil)

    init() {
      places = .allocate(capacity: Self.count)
      for index in 0..<Self.count { (places + index).initialize(to: Atomic(0)) }
    }

    static func make() -> UnsafeMutablePointer<Block> {
      let block = UnsafeMutablePointer<Block>.allocate(capacity: 1)
      block.initialize(to: Block())
      return block
    }
  }

  // Unsafe in name only: the pointer never changes, and what it points to is atomic.
  private nonisolated(unsafe) static let first: UnsafeMutablePointer<Block> = {
    let status = pthread_atfork(nil, nil, { ForkedLocks.giveUp() })
    precondition(status == 0, "pthread_atfork failed")
    return Block.make()
  }()

  /// Whether ``first`` is there: the fork handler must not make it.
  private static let isUsed = Atomic<Bool>(false)

  static func insert(_ descriptor: Int32) {
    var block = first
    isUsed.store(true, ordering: .releasing)
    while true {
      for index in 0..<Block.count
      where block.pointee.places[index].compareExchange(
        expected: 0, desired: descriptor + 1, ordering: .relaxed
      ).exchanged {
        return
      }
      if let next = block.pointee.next.load(ordering: .acquiring) {
        block = next
        continue
      }
      let new = Block.make()
      let (exchanged, other) = block.pointee.next.compareExchange(
        expected: nil, desired: new, ordering: .acquiringAndReleasing)
      if !exchanged {
        new.pointee.places.deallocate()
        new.deallocate()
      }
      block = exchanged ? new : other.unsafelyUnwrapped
    }
  }

  /// Before the descriptor is closed.
  static func remove(_ descriptor: Int32) {
    var block: UnsafeMutablePointer<Block>? = first
    while let current = block {
      for index in 0..<Block.count
      where current.pointee.places[index].compareExchange(
        expected: descriptor + 1, desired: 0, ordering: .relaxed
      ).exchanged {
        return
      }
      block = current.pointee.next.load(ordering: .acquiring)
    }
  }

  /// In the child: puts something without any use in their places, whose numbers their owners will close.
  private static func giveUp() {
    guard isUsed.load(ordering: .acquiring) else { return }
    #if os(Linux)
      // open(2): nothing but its path is usable. Swift does not see the constant, which is for GNU sources only.
      let oPath: Int32 = 0o10000000
      func openSomething() -> Int32 { open("/", oPath | O_CLOEXEC) }
    #else
      func openSomething() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }
    #endif
    var useless = openSomething()
    var isInPlace = false
    var block: UnsafeMutablePointer<Block>? = first
    while let current = block {
      for index in 0..<Block.count {
        let descriptor = current.pointee.places[index].exchange(0, ordering: .relaxed) - 1
        if descriptor < 0 { continue }
        if useless < 0 {
          // There was no descriptor left. What is given up makes room, and nobody else here can take its number.
          Descriptors.close(descriptor)
          useless = openSomething()
          isInPlace = useless == descriptor
        }
        if useless >= 0, useless != descriptor { _ = dup2(useless, descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      }
      block = current.pointee.next.load(ordering: .acquiring)
    }
    if useless >= 0, !isInPlace { Descriptors.close(useless) }
  }
}
