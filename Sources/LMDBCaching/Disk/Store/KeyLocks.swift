import Dispatch
import Logging
import Platform
import Synchronization

/// Locks of processes on single keys: the process that loads a value holds its key's. They end with their process.
///
/// Each is a byte of the file of ``ProcessLock``, far behind its end, locked by fcntl(2) in the name of the open file
/// (Linux; elsewhere every lock can be had). 62 bits of the key's hash choose the byte: two keys of one byte, which are
/// very rare, wait for each other. A second byte, locked for a moment, marks a load that failed.
final class KeyLocks: Sendable {
  enum Outcome {
    case taken(KeyLock)
    /// By this process.
    case isHeldHere
    case isHeldElsewhere
  }

  /// A lock that is held, until ``release()``.
  struct KeyLock: Sendable {
    fileprivate let byte: Int64
    fileprivate let file: ProcessLock
    fileprivate let locks: KeyLocks

    func release() { locks.release(self) }

    /// Whether a load of the key failed a moment ago in another process.
    var isMarkedAsFailed: Bool { file.isByteLocked(byte | KeyLocks.failure) }

    /// To be called before the lock is released, for those that wait for it.
    func markAsFailed() { locks.markAsFailed(self) }
  }

  private let place: PlaceKeeper
  private let events: EventLog
  private let held = Mutex<Set<Int64>>([])
  /// How many marks of failed loads there are, by their bytes.
  private let marks = Mutex<[Int64: Int]>([:])
  private let hasFailed = Atomic<Bool>(false)

  /// What tells the byte of a mark from that of a lock.
  fileprivate static let failure: Int64 = 1 << 62
  /// Many times the longest pause between two looks at a lock.
  private static let markDuration = DispatchTimeInterval.seconds(1)

  init(_ place: PlaceKeeper, events: EventLog) {
    self.place = place
    self.events = events
  }

  func tryLock(_ key: CacheKey) -> Outcome {
    let hash = RecordHeader.keyHash(key.utf8)
    // Behind what is in the file, and no further than files reach.
    let byte = Int64(hash >> 2) | 1 << 20
    guard held.withLock({ $0.insert(byte).inserted }) else { return .isHeldHere }
    let file = place.processLock
    do throws(SystemError) {
      guard try file.tryLockByte(byte) else {
        held.withLock { _ = $0.remove(byte) }
        return .isHeldElsewhere
      }
    } catch {
      noteFailure(error)
    }
    return .taken(KeyLock(byte: byte, file: file, locks: self))
  }

  /// Without locks every process loads for itself, which is no reason not to load.
  private func noteFailure(_ error: SystemError) {
    if hasFailed.exchange(true, ordering: .relaxed) { return }
    events.log(
      .warning, "no locks on keys: every process loads for itself",
      ["directory": "\(place.directory.path)", "error": "\(error)"])
  }

  private func markAsFailed(_ lock: KeyLock) {
    let mark = lock.byte | Self.failure
    marks.withLock { marks in
      marks[mark, default: 0] += 1
      // Without the mark the others load for themselves.
      _ = try? lock.file.tryLockByte(mark)
    }
    // The mark keeps no file open: it ends with it.
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.markDuration) { [weak self, weak file = lock.file] in
      self?.marks.withLock { marks in
        marks[mark]! -= 1
        if marks[mark] != 0 { return }
        marks[mark] = nil
        file?.unlockByte(mark)
      }
    }
  }

  private func release(_ lock: KeyLock) {
    lock.file.unlockByte(lock.byte)
    held.withLock { _ = $0.remove(lock.byte) }
  }
}
