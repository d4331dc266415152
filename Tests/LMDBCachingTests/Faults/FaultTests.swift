import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

/// Every operation of the public interface under every failure of a call that it makes.
///
/// A run without a fault counts the calls. In each other run one call fails, or all from it on, in a new cache. The
/// operation has its whole result or throws an error with the failure's code; the entries are as before or as after it,
/// all others as they were; `health` reports the failure, and then its end; nothing stays open.
///
/// A seed selects the failures, the calls between the first and the last, and the configurations. `LMDBCACHING_FAULTS=all`
/// tries them all.
@Suite struct FaultTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let triesAll = environment["LMDBCACHING_FAULTS"] == "all"
  private static let seed = environment["LMDBCACHING_FAULTS_SEED"].flatMap { UInt64($0) } ?? 39

  @Test(arguments: FaultOperation.all) func everyFailureIsSurvived(_ operation: FaultOperation) throws {
    var random = SeededRandom(operation.name.utf8.reduce(Self.seed) { $0 &* 31 &+ UInt64($1) })
    var (runs, withFault) = (0, 0)
    for stage in operation.stages {
      let settings = FaultSubject.Setting.all.filter { $0.stage == stage }.shuffled(using: &random)
      for setting in settings.prefix(Self.triesAll ? .max : 1) {
        let calls = try FaultRun(operation: operation, setting: setting, fault: nil).perform().calls
        for (call, count) in calls.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
          for fault in faults(of: call, count, &random) {
            let run = FaultRun(operation: operation, setting: setting, fault: fault)
            do {
              runs += 1
              if try run.perform().triggered > 0 { withFault += 1 }
            } catch {
              Issue.record("\(run): \(error)")
            }
          }
        }
      }
    }
    // Other threads make some calls, in no certain order.
    #expect(withFault > runs / 2)
  }

  /// All calls from the first on and, in half of the cases, a single one; or everything.
  private func faults(of call: FaultInjection.Call, _ count: Int, _ random: inout SeededRandom) -> [Fault] {
    var faults: [Fault] = []
    for isLasting in [true, false] {
      var numbers = Array(1...count)
      if !Self.triesAll {
        numbers = isLasting ? [1] : [[1, count, 1 + random.below(count), 0, 0, 0][random.below(6)]].filter { $0 > 0 }
      }
      for first in numbers {
        let failures = Failure.all(of: call).filter { !isLasting || $0.mayLast }.shuffled(using: &random)
        for failure in failures.prefix(Self.triesAll ? .max : 1) {
          faults.append(Fault(call: call, failure: failure, first: first, isLasting: isLasting))
        }
      }
    }
    return faults
  }
}

/// An operation with a fault.
struct FaultRun: CustomStringConvertible {
  let operation: FaultOperation
  let setting: FaultSubject.Setting
  let fault: Fault?

  var description: String { "\(operation.name) (\(setting)): \(fault?.description ?? "no fault")" }
  private var note: Comment { Comment(rawValue: description) }
  private var isDamage: Bool { fault?.failure.isDamage ?? false }

  /// Returns the operation's calls.
  func perform() throws -> FaultInjection.Report {
    let root = CacheDirectory(parent: FaultSubject.parent)
    let handles = FaultInjection.begin(.directory(root.path))
    defer { FaultInjection.end(handles) }
    let subject = try FaultSubject(setting, in: root)
    let before = subject.contents
    var after = before
    operation.effect(&after)

    let session = FaultInjection.begin(.directory(root.path), fault.map { [$0.rule] } ?? [])
    let result = Result { try operation.run(subject) }
    let health = subject.cache?.health ?? .closed
    let mayRead = health != .closed && !isDamage && fault.map { !Failure.ofReading.contains($0.call) } ?? false
    if mayRead, let cache = subject.cache {
      check(try FaultSubject.visible(cache), before, after, result, "while it lasts")
    }
    let report = FaultInjection.end(session)
    check(result, health, operation.answer(before))

    // A value that is not in the journal's file, which `health` would say, would be lost.
    if health == .healthy, before != after || operation.demand == .commit {
      check(try subject.contentsAfterDeath(), before, after, result, "after a death")
    }
    if let backup = try subject.takeBackup() { #expect(backup == before, note) }
    subject.endCompany()
    var contents = isDamage || health == .closed ? nil : try recover(subject, before, after, result)
    subject.close(note, mayFail: isDamage)
    #if os(Linux)
      #expect(eventually { root.openFiles().isEmpty }, "\(description): \(root.openFiles())")
    #endif
    #expect(FaultInjection.report(handles).openHandles == 0, note)

    #expect(try subject.open().recovery == nil, note)
    let found = try FaultSubject.visible(subject.open())
    contents = contents ?? found
    #expect(found == contents, note)
    check(found, before, after, result, "when opened again")
    subject.close(note, mayFail: false)
    // The partial copy of a backup stays if it cannot be found or removed.
    let mayLeave = fault.map { $0.isLasting && Failure.ofReading.contains($0.call) || $0.call == .unlinkat } ?? false
    #expect(root.names().filter { !mayLeave || !$0.hasPrefix(".lmdb-cache-") } == ["cache"], note)
    return report
  }

  /// Waits until everything is committed; returns the contents.
  private func recover(
    _ subject: FaultSubject, _ before: Contents, _ after: Contents, _ result: Result<String, any Error>
  ) throws -> Contents? {
    guard let cache = subject.cache else { return nil }
    #expect(try subject.recovers(), "\(description): \(cache.health)")
    let contents = try FaultSubject.visible(cache)
    check(contents, before, after, result, "afterwards")
    if setting.hasMemory {
      cache.memory.removeAll()
      #expect(try FaultSubject.visible(cache) == contents, note)
    }
    let listed = try cache.entries().map { ($0.key, FaultSubject.seconds($0.expiration)) }
    #expect(listed.map(\.0) == contents.keys.sorted(), note)
    #expect(listed.allSatisfy { $0.1 == contents[$0.0]?.expiration }, note)
    return contents
  }

  // MARK: Expectations

  private func check(_ result: Result<String, any Error>, _ health: CacheHealth, _ answer: String) {
    var code: CacheError.Code?
    switch result {
    case .success(let found): #expect(found == answer, note)
    case .failure(let error as CacheError):
      code = error.code
      #expect(!error.message.isEmpty, note)
      let isNamed = error.code == fault?.failure.code || error.code == .notCommitted
      #expect(isNamed, "\(description): \(error)")
    case .failure(let error): Issue.record("\(description): \(error)")
    }
    if fault?.isUnnoticed ?? true, operation.growsMap || fault?.failure != .mapFull {
      #expect(code == nil && [.healthy, .closed].contains(health), note)
    }
    if case .memoryOnly(let error) = health { #expect(error.code == fault?.failure.code, "\(description): \(error)") }
    guard let fault, fault.isLasting, fault.first == 1 else { return }
    switch operation.demand {
    case .journal where setting.durability != .full: #expect(code == nil, note)
    case .journal, .commit: if Failure.ofCommitting.contains(fault.call) { #expect(code != nil, note) }
    case .none: break
    }
  }

  /// Each key is as before the operation or as after it; all of its keys the same way, if it is atomic.
  private func check(
    _ found: Contents, _ before: Contents, _ after: Contents, _ result: Result<String, any Error>, _ time: String
  ) {
    var allowed = [before, after]
    switch result {
    case .success where !operation.isOptional: allowed = [after]
    case .failure where !operation.isAtomic: break
    case .failure(let error as CacheError): allowed = error.code == .notCommitted ? [after] : [before]
    default: break
    }
    let isAllowed =
      allowed.contains(found)
      || !operation.isAtomic && allowed.count > 1
        && Set(found.keys).union(before.keys).union(after.keys).allSatisfy {
          found[$0] == before[$0] || found[$0] == after[$0]
        }
    if isAllowed { return }
    let wrong = Set(found.keys).union(after.keys).filter { found[$0] != after[$0] }.sorted()
    let list = wrong.map { "\($0): \(found[$0].map(\.description) ?? "nil")" }.joined(separator: ", ")
    Issue.record("\(description), \(time): \("\(result)".prefix(300)); \(list)")
  }
}
