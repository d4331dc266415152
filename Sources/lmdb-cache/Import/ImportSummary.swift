import Foundation
import LMDBCachingImport

struct ImportSummary: Encodable {
  let examined: Int
  let taken: Int
  let takenBytes: Int
  let present: Int
  let expired: Int
  let refused: Int
  let refusalCounts: [String: Int]
  let refusals: [Refusal]
  let isComplete: Bool
  let isDryRun: Bool

  struct Refusal: Encodable {
    let key: String
    let reason: String
    let message: String
  }

  init(_ report: ImportReport) {
    examined = report.examined
    taken = report.taken
    takenBytes = report.takenBytes
    present = report.present
    expired = report.expired
    refused = report.refused
    refusalCounts = Dictionary(uniqueKeysWithValues: report.refusalCounts.map { ("\($0.key)", $0.value) })
    refusals = report.refusals.map { Refusal(key: $0.key, reason: "\($0.reason)", message: $0.message) }
    isComplete = report.isComplete
    isDryRun = report.isDryRun
  }

  var text: String {
    var table = TextTable([.left, .right])
    table.append([isDryRun ? "would be taken" : "taken", Formatting.grouped(taken)])
    table.append(["  bytes", Formatting.grouped(takenBytes)])
    table.append(["already there", Formatting.grouped(present)])
    table.append(["expired", Formatting.grouped(expired)])
    table.append(["not taken", Formatting.grouped(refused)])
    let lines = refusals.map {
      "\($0.key.isEmpty ? "" : Formatting.key($0.key) + ": ")\(Formatting.line($0.message))\n"
    }
    let more = refusalCounts.values.reduce(0, +) - refusals.count
    return table.text + lines.joined() + (more > 0 ? "… and \(Formatting.grouped(more)) more like these\n" : "")
  }
}
