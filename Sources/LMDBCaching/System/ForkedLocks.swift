import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The descriptors of this process that hold a lock by `flock`.
///
/// Such a lock belongs to everybody who has the descriptor, and goes with the last of them: a forked child would keep
/// the journal of a parent that died from being brought in. So the child gives up its copies as soon as it is there.
enum ForkedLocks {
  /// More are not known: their locks last as long as the child.
  private static let capacity = 1024

  /// Descriptors plus one; 0 is free. Never freed, since the fork handler may read it at any time.
  // Unsafe in name only: the pointer never changes, and what it points to is atomic.
  private nonisolated(unsafe) static let table: UnsafeMutablePointer<Atomic<Int32>> = {
    let table = UnsafeMutablePointer<Atomic<Int32>>.allocate(capacity: capacity)
    for index in 0..<capacity { (table + index).initialize(to: Atomic(0)) }
    pthread_atfork(nil, nil, { ForkedLocks.giveUp() })
    return table
  }()

  /// The greatest place in use, plus one.
  private static let used = Atomic<Int>(0)

  static func insert(_ descriptor: Int32) {
    let table = table
    for index in 0..<capacity {
      if table[index].load(ordering: .relaxed) == descriptor + 1 { return }
    }
    for index in 0..<capacity
    where table[index].compareExchange(expected: 0, desired: descriptor + 1, ordering: .relaxed).exchanged {
      _ = used.max(index + 1, ordering: .relaxed)
      return
    }
  }

  /// Before the descriptor is closed.
  static func remove(_ descriptor: Int32) {
    let used = used.load(ordering: .relaxed)
    if used == 0 { return }
    for index in 0..<used {
      _ = table[index].compareExchange(expected: descriptor + 1, desired: 0, ordering: .relaxed)
    }
  }

  /// In the child: puts something harmless in their places, whose numbers their owners will close.
  private static func giveUp() {
    let used = used.load(ordering: .relaxed)
    // Without it the table may not be there yet.
    if used == 0 { return }
    let harmless = open("/dev/null", O_RDONLY | O_CLOEXEC)
    for index in 0..<used {
      let descriptor = table[index].exchange(0, ordering: .relaxed) - 1
      if descriptor < 0 { continue }
      if harmless >= 0 { _ = dup2(harmless, descriptor) } else { close(descriptor) }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
    if harmless >= 0 { close(harmless) }
  }
}
