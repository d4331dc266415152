import Foundation
import GarageStorage

// Another process for the garage's tests: reads commands from its standard input, one a line, and answers each with one
// line or, for loops, one line per write. What was answered was saved, whenever the process is killed.
//
// With the arguments `figures COUNT` it measures instead.

final class Item: Mappable, Syncable {
  var id: Int { number }
  var number = 0
  var text = ""
  var syncStatus = SyncStatus.notSynced

  private enum CodingKeys: CodingKey { case number, text }

  convenience init(_ number: Int, _ text: String, _ status: SyncStatus = .notSynced) {
    self.init()
    self.number = number
    self.text = text
    syncStatus = status
  }
}

func answer(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

func makeGarage(_ path: String) -> Garage {
  let description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
  description.mapSize = 1 << 30
  return Garage(with: [description])
}

func run(_ words: [Substring], _ garage: Garage) throws -> String {
  func number(_ index: Int) -> Int { Int(words[index]) ?? 0 }
  func list(_ items: [Item]) -> String { items.map { String($0.number) }.joined(separator: " ") }
  switch words[0] {
  case "park": try garage.park(Item(number(1), String(words[2])))
  case "loop":
    // loop SIZE: two items in each transaction, for ever.
    let text = String(repeating: "x", count: number(1))
    for next in 0... {
      try garage.parkAll([Item(next, text), Item(next + 1_000_000, text)])
      answer(String(next))
    }
  case "wait":
    // Parks without saving, and answers.
    garage.isAutosaveEnabled = false
    for index in 0..<number(1) { try garage.park(Item(index, "")) }
  case "times":
    // times COUNT: changes the status of one item.
    for index in 0..<number(1) { try garage.setSyncStatus(index % 2 == 0 ? .syncing : .synced, for: Item(0, "")) }
  case "bump":
    // bump COUNT FIRST: parks each item in a transaction.
    for index in 0..<number(1) { try garage.park(Item(number(2) + index, "text \(index)")) }
  case "all": return list(try garage.retrieveAll(Item.self))
  case "text": return try garage.retrieve(Item.self, identifier: number(1))?.text ?? "nil"
  case "status": return list(try garage.retrieveAll(Item.self, withStatus: SyncStatus(rawValue: number(1))!))
  default: return "unknown"
  }
  return "done"
}

if CommandLine.arguments.count > 2, CommandLine.arguments[1] == "figures" {
  try figures(Int(CommandLine.arguments[2]) ?? 100_000)
} else {
  let garage = makeGarage(CommandLine.arguments[1])
  while let line = readLine() {
    do {
      answer(try run(line.split(separator: " "), garage))
    } catch {
      answer("error: \(error)")
    }
  }
}
