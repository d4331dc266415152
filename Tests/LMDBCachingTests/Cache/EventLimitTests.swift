import Dispatch
import Logging
import Testing

@testable import LMDBCaching

@Suite struct EventLimitTests {
  /// While a handler hangs, 10,000 events wait.
  @Test func droppedEventsAreCounted() {
    let events = EventLog.Events()
    let log = LMDBCaching.EventLog(EventLog.logger(events))
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    log.perform {
      begun.signal()
      gate.wait()
    }
    begun.wait()
    for number in 0..<10_007 { log.log(.info, "event", ["number": "\(number)"]) }
    gate.signal()
    log.drain()
    log.log(.info, "later", [:])
    log.drain()
    let counts = events.current.compactMap { $0.metadata["count"] }
    #expect(counts == ["7"])
    #expect(events.current.count == 10_002)
    #expect(events.current.last?.message == "later")
    #expect(events.current.count { $0.message == "event" } == 10_000)
  }
}
