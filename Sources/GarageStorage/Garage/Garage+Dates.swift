public import Foundation
import Synchronization

extension Garage {
  /// The date encoding for the calling thread.
  ///
  /// The default is ISO 8601 text in UTC ("1950-01-01T05:00:00Z"), with fractional seconds as needed to read back the
  /// same date. A date outside the years 0 to 9999 is its number of seconds since 2001.
  public var dateEncodingStrategy: JSONEncoder.DateEncodingStrategy {
    encodingOverride ?? .custom { try ISODate.encode($0, to: $1) }
  }

  /// The date decoding for the calling thread.
  ///
  /// The default reads ISO 8601 text with any time zone and optional fraction, and the default form of
  /// ``dateEncodingStrategy``.
  public var dateDecodingStrategy: JSONDecoder.DateDecodingStrategy {
    decodingOverride ?? .custom { try RetrievalSession.date(from: $0) }
  }

  var encodingOverride: JSONEncoder.DateEncodingStrategy? {
    let thread = Self.thread
    return state.withLock { $0.encodingDates[thread]?.last }
  }

  var decodingOverride: JSONDecoder.DateDecodingStrategy? {
    let thread = Self.thread
    return state.withLock { $0.decodingDates[thread]?.last }
  }

  /// Runs a closure in which the calling thread parks dates in another form.
  ///
  /// The identifier of a `Hashable` object does not depend on it.
  public func withDateEncodingStrategy<Result>(
    _ strategy: JSONEncoder.DateEncodingStrategy, _ closure: () throws -> Result
  ) rethrows -> Result {
    let thread = Self.thread
    state.withLock { $0.encodingDates[thread, default: []].append(strategy) }
    defer {
      state.withLock { state in
        state.encodingDates[thread]?.removeLast()
        if state.encodingDates[thread]?.isEmpty == true { state.encodingDates[thread] = nil }
      }
    }
    return try closure()
  }

  /// Runs a closure in which the calling thread reads dates in another form.
  ///
  /// A ``Reference`` resolved after the closure uses the form of the resolving thread.
  public func withDateDecodingStrategy<Result>(
    _ strategy: JSONDecoder.DateDecodingStrategy, _ closure: () throws -> Result
  ) rethrows -> Result {
    let thread = Self.thread
    state.withLock { $0.decodingDates[thread, default: []].append(strategy) }
    defer {
      state.withLock { state in
        state.decodingDates[thread]?.removeLast()
        if state.decodingDates[thread]?.isEmpty == true { state.decodingDates[thread] = nil }
      }
    }
    return try closure()
  }
}
