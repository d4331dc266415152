import CBORCoding
import Foundation
import LMDBCaching

/// Writes entries as `export` does.
final class ExchangeWriter {
  private let output: ExchangeOutput
  private let format: ExchangeFormat
  private(set) var entries = 0

  init(_ output: ExchangeOutput, _ format: ExchangeFormat, durability: Durability?) throws(ToolError) {
    self.output = output
    self.format = format
    var header: ExchangeFormat.Fields = [(ExchangeFormat.versionName, .integer(ExchangeFormat.version))]
    if let durability { header.append((ExchangeFormat.durabilityName, .text("\(durability)"))) }
    try write(header)
  }

  func write(_ record: EntryRecord) throws(ToolError) {
    try write(ExchangeEntry.fields(of: record))
    entries += 1
  }

  /// - Parameter unreadable: How many entries could not be read.
  func finish(unreadable: Int) throws(ToolError) {
    try write([
      (ExchangeFormat.entriesName, .integer(Int128(entries))),
      (ExchangeFormat.unreadableName, .integer(Int128(unreadable))),
    ])
    try output.finish()
  }

  private func write(_ fields: ExchangeFormat.Fields) throws(ToolError) {
    switch format {
    case .jsonl: try output.write(JSONLine.encode(fields))
    case .cbor: try output.write(CBORSequence.encode(fields.map { (key: $0.key, value: $0.value) }))
    }
  }
}
