import Logging
import Platform
import Synchronization

/// Locks of processes on single keys, which go with their process: who loads a value.
///
/// Each is a byte of the file of ``ProcessLock``, far behind its end, locked by fcntl(2) in the name of the open file
/// (Linux; elsewhere every lock can be had). The byte is chosen by 62 bits of the key's hash: two keys of one byte, which
/// are not to be expected, wait for each other.
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
  }

  private let place: PlaceKeeper
  private let events: EventLog
  private let held = Mutex<Set<Int64>>([])
  private let hasFailed = Atomic<Bool>(false)

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

  private func release(_ lock: KeyLock) {
    lock.file.unlockByte(lock.byte)
    held.withLock { _ = $0.remove(lock.byte) }
  }
}
