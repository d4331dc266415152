package import GarageStorage

package final class FixtureBook: Mappable {
  package var id: Int { number }
  package var number = 0
  package var title = ""
  @Reference package var author: FixtureAuthor?

  package init() {}

  convenience init(_ number: Int, _ title: String) {
    self.init()
    self.number = number
    self.title = title
  }
}
