# SPDX-License-Identifier: Apache-2.0
# A Sinatra application: pages made of an ERB template, and JSON that is read, worked on and written.
require "json"
require "sinatra/base"
require "time"

Row = Struct.new(:id, :name, :tags, :price, :at) do
  def label
    "#{name.gsub(/[<>]/) { |bracket| bracket == "<" ? "&lt;" : "&gt;" }} #{at.iso8601}"
  end
end

class App < Sinatra::Base
  set :environment, :production
  set :logging, false

  helpers do
    def make_rows(count)
      Array.new(count) do |id|
        Row.new(id, "row <#{id}>", ["a#{id % 7}", "none", "b"], id * 1.25, Time.at(1_700_000_000 + id).utc)
      end
    end

    def shown(tags)
      tags.reject { |tag| tag == "none" }.map(&:upcase).join(", ")
    end

    # A price that is wrong raises.
    def price_of(row)
      Float(row.fetch("price"))
    rescue ArgumentError, TypeError
      0.0
    ensure
      @priced = @priced.to_i + 1
    end
  end

  before { content_type :html }

  get "/page/:count" do
    @title = params.fetch("title")
    @rows = make_rows(params["count"].to_i)
    erb :page
  end

  post "/sum" do
    content_type :json
    rows = JSON.parse(request.body.read)
    sums = rows.each_with_object(Hash.new(0.0)) do |row, found|
      price = price_of(row)
      row["tags"].each { |tag| found[tag] += price }
    end
    JSON.generate("sums" => sums.sort_by { |tag, sum| [-sum, tag] }.to_h,
                  "rows" => rows.map { |row| row.transform_keys(&:upcase) }, "priced" => @priced)
  end

  # An enumerator whose next() has a fiber of its own.
  get "/pairs/:count" do
    content_type :json
    names = make_rows(params["count"].to_i).each
    pairs = []
    loop { pairs << { "left" => names.next.label, "right" => names.next.label } }
    JSON.pretty_generate(pairs)
  end

  not_found { "nothing at #{request.path_info}" }
end
