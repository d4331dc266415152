import Dispatch
import Logging
import Platform
import Synchronization

/// Locks on single keys between processes, held by the process that loads the key's value. They end with it.
///
/// Each is a byte far beyond the end of ``ProcessLock``'s file, locked by fcntl(2) per open file description (on Linux;
/// elsewhere every lock is granted). 62 bits of the key's hash choose the byte; keys that collide, which is very rare,
/// wait for each other. A second byte, locked briefly, marks a failed load.
final class KeyLocks: Sendable {
  enum Outcome {
    case taken(KeyLock)
    /// This process holds it.
    case isHeldHere
    case isHeldElsewhere
  }

  struct KeyLock: Sendable {
    fileprivate let byte: Int64
    fileprivate let file: ProcessLock
    fileprivate let locks: KeyLocks

    func release() { locks.release(self) }

    /// Whether another process just failed to load the key.
    var isMarkedAsFailed: Bool { file.isByteLocked(byte | KeyLocks.failure) }

    /// Call before releasing the lock, to inform waiters.
    func markAsFailed() { locks.markAsFailed(self) }
  }

  private let place: PlaceKeeper
  private let events: EventLog
  private let held = Mutex<Set<Int64>>([])
  /// The number of failed-load marks per byte.
  private let marks = Mutex<[Int64: Int]>([:])
  private let hasFailed = Atomic<Bool>(false)

  /// Distinguishes a mark's byte from a lock's.
  fileprivate static let failure: Int64 = 1 << 62
  /// Many times the longest pause between two checks of a lock.
  private static let markDuration = DispatchTimeInterval.seconds(1)

  init(_ place: PlaceKeeper, events: EventLog) {
    self.place = place
    self.events = events
  }

  func tryLock(_ key: CacheKey) -> Outcome {
    let hash = RecordHeader.keyHash(key.utf8)
    // Beyond the file's contents, within the offsets that a file can have.
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

  /// Without locks, every process loads for itself.
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
      // Without the mark, the waiters load for themselves.
      _ = try? lock.file.tryLockByte(mark)
    }
    // The mark does not keep the file open, and ends with it.
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
