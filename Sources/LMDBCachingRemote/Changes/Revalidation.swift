import Dispatch
import LMDBCaching
import Synchronization

/// Which local entries are to be held against the server before they are served, after changes were missed.
///
/// Entries that were stored before that moment are: when they are asked for, and all of them in the background.
final class Revalidation: Sendable {
  /// How many keys that were asked for are remembered, so that each is checked once.
  private static let limit = 10_000

  private struct State {
    /// Entries with this stamp or a lesser one are to be checked.
    var floor: UInt64 = 0
    var checked: Set<ByteKey> = []
    var isSweeping = false
  }

  private let state = Mutex(State())

  /// Everything that is stored now is to be checked.
  func begin(at stamp: UInt64) {
    state.withLock { state in
      state.floor = max(stamp, state.floor + 1)
      state.checked = []
    }
  }

  /// What ``noteChecked(_:floor:)`` is to be told if an entry is to be checked; `nil` if it is not.
  func due(_ key: String, stamp: UInt64) -> UInt64? {
    state.withLock { $0.floor >= stamp && !$0.checked.contains(ByteKey(key)) ? $0.floor : nil }
  }

  /// Whether anything is to be checked.
  var isActive: Bool { state.withLock { $0.floor != 0 } }

  /// An entry that was asked for is as the server has it.
  func noteChecked(_ key: String, floor: UInt64) {
    state.withLock { state in
      // What was asked before more was missed says nothing. Without room it is checked again.
      if state.floor == floor, state.checked.count < Self.limit { state.checked.insert(ByteKey(key)) }
    }
  }

  /// - Returns: What ``endSweep(_:isDone:)`` is to be told, or `nil` if somebody sweeps, or nothing is to be checked.
  func beginSweep() -> UInt64? {
    state.withLock { state in
      if state.isSweeping || state.floor == 0 { return nil }
      state.isSweeping = true
      return state.floor
    }
  }

  /// - Parameter isDone: Whether everything was checked that was stored before.
  /// - Returns: Whether nothing is to be checked any more.
  func endSweep(_ floor: UInt64, isDone: Bool) -> Bool {
    state.withLock { state in
      state.isSweeping = false
      // Meanwhile more may have been missed.
      guard isDone, state.floor == floor else { return false }
      state = State()
      return true
    }
  }
}
